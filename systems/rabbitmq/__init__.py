"""RabbitMQ as a system of samebox: quorum queues and streams."""
